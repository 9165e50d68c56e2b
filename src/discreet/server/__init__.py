"""Doors: Postgres wire and HTTP, in front of one curator.

What is behind a door is the same for both: who is let in, what a question would cost, its answer, what is public.
"""

from discreet.server.desk import Desk as Desk
from discreet.server.desk import Visitor as Visitor
