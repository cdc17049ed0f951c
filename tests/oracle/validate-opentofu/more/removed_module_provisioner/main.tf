removed {
  from = module.m
  connection {
    host = "h"
  }
}
