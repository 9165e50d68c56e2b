"""Transport: what devices and strangers send, and what they are sent.

Tasks that are signed, keys that hand over to one another, receipts, and a courier that carries them over HTTP.
"""

from discreet.transport.device_client import Courier as Courier
from discreet.transport.device_client import Unreached as Unreached
from discreet.transport.signed_task import Uninvited as Uninvited
from discreet.transport.signed_task import Unknown as Unknown
from discreet.transport.signed_task import UploadReceipt as UploadReceipt
from discreet.transport.signing_keys import Handover as Handover
from discreet.transport.signing_keys import Keyring as Keyring
