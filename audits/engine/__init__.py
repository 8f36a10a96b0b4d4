"""What the audits share: cases, the search for neighbours, exact laws, planted bugs."""
