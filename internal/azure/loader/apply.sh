#!/bin/sh
# Runs the bootstrap script that the boothook fetched, and removes it.
script=/run/casement/bootstrap.sh
if [ ! -s "$script" ]; then
  echo "casement-bootstrap: cannot run the bootstrap script: it was not fetched"
  exit 1
fi
mkdir -p /var/lib/casement
echo done >/var/lib/casement/bootstrapped
sh "$script"
code=$?
rm -f "$script"
exit $code
