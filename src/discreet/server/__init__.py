"""Doors: Postgres wire and HTTP, in front of one desk.

What is behind a door is the same for both: who is let in, what a question would cost, its answer, what is public.
"""
