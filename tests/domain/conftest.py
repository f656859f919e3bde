from hypothesis import settings

settings.register_profile("workbench", deadline=None, max_examples=100)
settings.load_profile("workbench")
