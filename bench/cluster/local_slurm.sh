#!/bin/sh
# The Slurm script tried out on this machine alone: starts munged, slurmctld and slurmd with a
# configuration of their own in a temporary folder, runs a 4-task array of the quick grid, merges the
# shards and checks and reports them. As root, on Debian:
#
#   apt-get install -y --no-install-recommends slurmctld slurmd slurm-client munge
#   TWILL=build/release/engine/twill bench/cluster/local_slurm.sh
#
# Exit codes: 0 done, 77 Slurm is not installed or this is not root (a skipped test), 1 failed.
set -eu
for program in munged slurmctld slurmd sbatch squeue; do
  command -v "$program" >/dev/null || { echo "skipped: no $program"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: not root"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
TWILL=$(realpath "${TWILL:?must name the program}")
export TWILL
folder=$(mktemp -d /tmp/twill-slurm-XXXXXX)
pids=
finish() {
  for pid in $pids; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT INT TERM

# Munge wants folders that nobody else can write to.
chmod 755 "$folder"
mkdir "$folder/munge" "$folder/state" "$folder/spool"
dd if=/dev/urandom of="$folder/munge/key" bs=1024 count=1 2>/dev/null
chmod 700 "$folder/munge"
chmod 600 "$folder/munge/key"
munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
  --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" &
pids="$pids $!"
chmod 711 "$folder/munge"

host=$(hostname -s)
port=$((20000 + $$ % 20000))
cat >"$folder/slurm.conf" <<END
ClusterName=twill
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
SlurmctldPort=$port
SlurmdPort=$((port + 1))
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF="$folder/slurm.conf"
slurmctld -D -f "$SLURM_CONF" >/dev/null 2>&1 &
pids="$pids $!"
slurmd -D -f "$SLURM_CONF" >/dev/null 2>&1 &
pids="$pids $!"
tries=0
until sinfo -h -o %T 2>/dev/null | grep -q idle; do
  tries=$((tries + 1))
  if [ $tries -gt 30 ]; then
    echo "the cluster does not come up"
    tail -n 5 "$folder"/*.log "$folder/munge/log"
    exit 1
  fi
  sleep 1
done

cd "$folder"
"$TWILL" bench instances --grid quick -o instances
sbatch --wait --array=0-3 --output="$folder/task-%a.out" "$here/slurm_array.sh" instances rows \
  --encodings 'start=*;pb=bdd|gte' --cpu-limit 2
cat rows.*.jsonl >rows.jsonl
echo "$(ls rows.?.jsonl | wc -l) shards, $(wc -l <rows.jsonl) rows"
"$TWILL" bench check rows.jsonl --instances instances
"$TWILL" bench report rows.jsonl
