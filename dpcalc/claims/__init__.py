"""Claims files: what somebody claims, checked against what is certified and what is attained."""
