terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

provider "aws" {
  region                      = "eu-west-1"
  access_key                  = "any"
  secret_key                  = "any"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  s3_force_path_style         = true

  endpoints {
    s3       = "@AWS@"
    dynamodb = "@AWS@"
    iam      = "@AWS@"
    sqs      = "@AWS@"
    sts      = "@AWS@"
    ec2      = "@AWS@"
  }
}

resource "aws_s3_bucket" "files" {
  bucket        = "files"
  force_destroy = true
  tags          = { round = "1" }

  versioning {
    enabled = true
  }
}

resource "aws_s3_bucket_object" "hello" {
  bucket  = aws_s3_bucket.files.id
  key     = "hello.txt"
  content = "hello"
}

resource "aws_dynamodb_table" "locks" {
  name         = "locks"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "id"

  attribute {
    name = "id"
    type = "S"
  }
}

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "read" {
  statement {
    actions   = ["s3:GetObject"]
    resources = ["${aws_s3_bucket.files.arn}/*"]
  }
}

resource "aws_iam_role" "reader" {
  name               = "reader"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_role_policy" "reader" {
  role   = aws_iam_role.reader.id
  name   = "read"
  policy = data.aws_iam_policy_document.read.json
}

resource "aws_sqs_queue" "jobs" {
  name                       = "jobs"
  visibility_timeout_seconds = 60
}

resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
  tags       = { Name = "main" }
}

resource "aws_subnet" "part" {
  count      = 2
  vpc_id     = aws_vpc.main.id
  cidr_block = cidrsubnet(aws_vpc.main.cidr_block, 8, count.index)
}

output "subnets" {
  value = aws_subnet.part[*].id
}
