def memory_store():
    return call("memory.get", key="a")
