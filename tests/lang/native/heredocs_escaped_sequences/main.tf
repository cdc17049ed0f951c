output "v" {
  value = <<A
$${a} %%{b} $ % $$ %% "q" $${
A
}
