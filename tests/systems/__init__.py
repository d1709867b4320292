"""The five systems hookbus grew from: their features and defects in hookbus, and the real packages
running on it.

python -m tests.systems.install            one environment per system, with its real package
python -m tests.systems agentscope         that system's tests, inside its environment
python -m tests.systems.coverage           which row of which system has which test
"""
