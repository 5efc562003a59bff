package client

var list = call("ability.list", `memory.store`, "memory_store_x")
