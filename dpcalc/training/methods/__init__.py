"""One file per method; its key is the file's name with dashes."""
