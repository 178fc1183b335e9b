#!/usr/bin/env bash
# Packs the package, installs it into an empty folder and runs a flow with it there.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
folder=$(mktemp -d)
export WFX_HOME="$folder/home" WFX_KEYCHAIN=off
cleanup() {
  (cd "$folder" && npx --no-install wfx daemon stop >/dev/null 2>&1) || true
  rm -rf "$folder"
}
trap cleanup EXIT

tarball=$(npm pack --silent --pack-destination "$folder" | tail -n 1)
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund "./$tarball"
cp "$root/flows/order-approval.yaml" "$root/flows/order-approval.data.json" .
npx --no-install wfx run order-approval.yaml --data-file order-approval.data.json --set-input review=approve
echo "the packed package runs a flow"
