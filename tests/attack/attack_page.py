def run(tally):
    pass
