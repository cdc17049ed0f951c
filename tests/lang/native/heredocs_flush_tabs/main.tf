output "v" {
  value = <<-EOT
		one
			two
	  three
	EOT
}
