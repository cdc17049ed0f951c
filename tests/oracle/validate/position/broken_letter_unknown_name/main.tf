output "a" {
  value = local.aéb 
}
