output "v" {
  value = <<-EOT
    a
  
      
    b
    EOT
}
