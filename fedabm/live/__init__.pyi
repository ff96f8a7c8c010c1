from fedabm.live.server import live as live
from fedabm.live.session import Session as Session
