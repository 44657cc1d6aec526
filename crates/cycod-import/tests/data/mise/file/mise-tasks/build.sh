#!/usr/bin/env bash
#MISE description="Build the CLI"
#MISE depends=[
#MISE   "lint",
#MISE ]

#USAGE flag "-c --clean" help="Clean before"
#USAGE arg "<target>" help="What to build" {
#USAGE   choices "cli" "lib"
#USAGE }
cargo build
