"""The durable, tamper-evident budget.

Every charge is an entry in an append-only list, written to the disk before a row is read. An entry's hash covers the
one before it, and a signed head pins down the whole list, so a charge can neither be forgotten nor taken back
unnoticed. What is left of a budget is not stored anywhere: it is what the entries add up to.
"""

from discreet.ledger.balances import Account as Account
from discreet.ledger.balances import Books as Books
from discreet.ledger.entry_kinds import Adopted as Adopted
from discreet.ledger.entry_kinds import Dataset as Dataset
from discreet.ledger.entry_kinds import Entry as Entry
from discreet.ledger.entry_kinds import Event as Event
from discreet.ledger.entry_kinds import Grant as Grant
from discreet.ledger.entry_kinds import Hold as Hold
from discreet.ledger.entry_kinds import Opened as Opened
from discreet.ledger.entry_kinds import Retired as Retired
from discreet.ledger.entry_kinds import Revoked as Revoked
from discreet.ledger.entry_kinds import Spend as Spend
from discreet.ledger.entry_kinds import StoredAnswer as StoredAnswer
from discreet.ledger.home_ledger import adopt as adopt
from discreet.ledger.home_ledger import found_ledger as found_ledger
from discreet.ledger.home_ledger import open_ledger as open_ledger
from discreet.ledger.payment import Payment as Payment
from discreet.ledger.payment import payment as payment
from discreet.ledger.signed_head import Head as Head
from discreet.ledger.signed_head import read_head as read_head
from discreet.ledger.signed_head import sign as sign
from discreet.ledger.signed_head import signing_key as signing_key
from discreet.ledger.sqlite import SqliteLedger as SqliteLedger
from discreet.ledger.verify import Inclusion as Inclusion
from discreet.ledger.verify import Report as Report
from discreet.ledger.verify import prove as prove
from discreet.ledger.verify import verify as verify
