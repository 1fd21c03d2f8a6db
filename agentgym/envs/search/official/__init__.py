"""Question sets of others: Search-R1's parquet files, FlashRAG's JSON lines, and one's own."""
