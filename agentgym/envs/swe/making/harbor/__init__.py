"""SWE tasks as folders for Harbor: the writer, and the judge that goes with them."""
