from fedabm.common.random import generator as generator
from fedabm.study.command import command_word as command_word
from fedabm.study.equilibria import equilibrium_frames as equilibrium_frames
from fedabm.study.measured import measured_curve as measured_curve
from fedabm.study.study import Study as Study
