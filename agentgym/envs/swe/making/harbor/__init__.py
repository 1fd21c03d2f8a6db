"""SWE tasks as folders that Harbor plays: what writes them, and the judge that goes with them."""
