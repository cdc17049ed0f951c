import {
  to = module.m
  id = "x"
}
