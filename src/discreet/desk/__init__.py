"""Desk: what every door and page leads to, one curator asked in the name of whoever was let in."""

from discreet.desk.desk import HOME as HOME
from discreet.desk.desk import Desk as Desk
from discreet.desk.desk import Terms as Terms
from discreet.desk.desk import Visitor as Visitor
from discreet.desk.release_store import PaidRelease as PaidRelease
from discreet.desk.release_store import ReleaseOrder as ReleaseOrder
