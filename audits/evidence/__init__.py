"""Tables that support a case by other means than an attack."""
