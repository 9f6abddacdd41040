"""BenchExec tool-info module: one question of `twill bench instances`, by one encoding.

BenchExec (Beyer, Loewe and Wendler, "Reliable benchmarking: requirements and solutions", STTT 2019)
measures and limits; the encoding is given as options of the run definition, the question by the
task's options ii and length. The property is that there is a schedule: true is SAT (and the judge
has accepted the schedule), false is UNSAT. With the folder above on PYTHONPATH the tool is "benchexec_twill.twill", see twill.xml.
"""

import json

import benchexec.result as result
import benchexec.tools.template


class Tool(benchexec.tools.template.BaseTool2):
    def executable(self, tool_locator):
        return tool_locator.find_executable("twill", subdir="build/release/engine")

    def name(self):
        return "Twill"

    def project_url(self):
        return "https://arxiv.org/abs/2512.18134"

    def version(self, executable):
        return self._version_from_tool(executable, line_prefix="Twill ")

    def cmdline(self, executable, options, task, rlimits):
        line = [executable, "bench", "trial", task.single_input_file]
        for name, value in (task.options or {}).items():  # without both twill says what is missing
            if name in ("ii", "length"):
                line += ["--" + name, str(value)]
        if rlimits.cputime:
            line += ["--cpu-limit", str(rlimits.cputime)]
        return line + options

    @staticmethod
    def _row(output):
        for line in output:
            if line.startswith("{"):
                return json.loads(line)
        return {}

    def determine_result(self, run):
        row = self._row(run.output)
        status = row.get("status")
        if status == "SAT" and row.get("verified") == "model":
            return result.RESULT_TRUE_PROP
        if status == "UNSAT":
            return result.RESULT_FALSE_PROP
        if status == "TIMEOUT":
            return status
        if status == "MEMOUT":
            return "OUT OF MEMORY"
        return "TIMEOUT" if run.was_timeout else result.RESULT_ERROR

    def get_value_from_output(self, output, identifier):
        value = self._row(output).get(identifier)
        return None if value is None else str(value)
