"""Work on several processes or machines, through executors of `concurrent.futures`."""
