"""One file per figure or table; its name is the file's name with dashes."""
