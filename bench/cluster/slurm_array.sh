#!/bin/sh
# One shard of `twill bench run` a task of a Slurm job array. From the folder that holds the rows:
#
#   twill bench instances --grid default -o instances
#   sbatch --array=0-15 --time=08:00:00 --mem-per-cpu=3G slurm_array.sh instances rows --cpu-limit 60
#   cat rows.*.jsonl > rows.jsonl          # when all tasks are done: that is the merge
#   twill bench check rows.jsonl --instances instances
#   twill bench report rows.jsonl -o report
#
# A task that is cancelled or requeued goes on where it was. Arguments: the folder of instances, the
# beginning of the files of rows, and further options of `twill bench run`.
#SBATCH --job-name=twill-bench
#SBATCH --cpus-per-task=1
#SBATCH --requeue
set -eu
instances=$1
rows=$2
shift 2
index=${SLURM_ARRAY_TASK_ID:?must run as a task of a job array, from 0}
count=${SLURM_ARRAY_TASK_COUNT:?must run as a task of a job array}
exec "${TWILL:-twill}" bench run --resume --quiet --jobs "${SLURM_CPUS_PER_TASK:-1}" \
  --instances "$instances" --shard "$index/$count" --out "$rows.$index.jsonl" "$@"
