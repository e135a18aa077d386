#!/bin/bash
# Runs on the GPU machine: takes in the pieces that came with this call (.gpu/NAME/), installs what is complete, and
# with ENGINE PHASE... records. Exits 3 while pieces are missing and something was to be recorded.
# usage: device.sh [LIMIT_S ENGINE SITE PHASE...]
home=/tmp/gpu-host
mkdir -p $home/models
[ -f .gpu/models.tar.xz ] && tar xJf .gpu/models.tar.xz -C $home/models
for manifest in .gpu/*/manifest.json; do
  [ -f "$manifest" ] || continue
  folder=$(dirname "$manifest")
  python3 tools/gpu-host/install.py "$folder" $home/store "$home/$(basename "$folder")"
done
[ $# -gt 0 ] || exit 0
limit=$1 engine=$2 site=$home/$3
shift 3
[ -d "$site" ] || exit 3
exec python3 -u tools/gpu-host/record.py "$engine" "$site" $home/models $home/recordings-"$engine" --limit "$limit" "$@"
