"""Certificates that a stated ε holds, checked in ball arithmetic without floating-point assumptions."""
