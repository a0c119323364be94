# Both images for both architectures, from the folder of the checkout:
#   COMMIT="$(git log -1 --format='%h of %cs')" docker buildx bake -f src/docs/deploy/docker-bake.hcl
variable "VERSION" { default = "0.1.0" }
variable "COMMIT" { default = "" }

group "default" { targets = ["whole", "slim"] }

target "common" {
  context   = "."
  platforms = ["linux/amd64", "linux/arm64"]
  args      = { COMMIT = COMMIT }
  labels    = { "org.opencontainers.image.version" = VERSION }
}

target "whole" {
  inherits = ["common"]
  target   = "whole"
  tags     = ["sluice:${VERSION}"]
}

target "slim" {
  inherits = ["common"]
  target   = "slim"
  tags     = ["sluice:${VERSION}-slim"]
}
