package client

var list = call("ability_list", `memory_store`, "memory_store_x")
