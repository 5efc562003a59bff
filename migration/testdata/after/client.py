def memory_store():
    return call("memory_retrieve", key="a")
