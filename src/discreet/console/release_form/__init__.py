"""Making a release: what is to be published, its price and its error, a rehearsal, and the page around them."""
