"""Questions in SQL: read, refused if they would show a person, and cut in two at the noise."""
