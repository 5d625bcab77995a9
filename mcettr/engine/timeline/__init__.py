"""One timeline of the reference engine, one mechanism a file; `life` ties them together."""
