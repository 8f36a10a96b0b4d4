"""Results as records for machines, tables for people, and plots."""
