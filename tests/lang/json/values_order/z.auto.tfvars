c = "z"
