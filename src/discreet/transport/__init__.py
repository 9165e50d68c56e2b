"""Transport: what devices and strangers send, and what they are sent.

Tasks that are signed, keys that hand over to one another, receipts, and a courier that carries them over HTTP.
"""

from discreet.transport.http_client import Courier as Courier
from discreet.transport.http_client import Unreached as Unreached
from discreet.transport.signing_keys import Handover as Handover
from discreet.transport.signing_keys import Keyring as Keyring
from discreet.transport.task import Uninvited as Uninvited
from discreet.transport.task import Unknown as Unknown
from discreet.transport.task import UploadReceipt as UploadReceipt
