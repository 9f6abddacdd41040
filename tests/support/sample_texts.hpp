// Valid files that tests and fuzzers of the readers start from.
#pragma once

#include <string>

namespace twill::test {

/// A problem that uses every key of the format: two units, two memories, a streaming op, two
/// overlapping segments, a zero-cycle op, a carried edge.
inline const std::string kProblemText = R"({
  "format": "twill.problem",
  "version": 1,
  "name": "sample",
  "cycle_unit": 2.5,
  "units": {
    "TC": 2,
    "SFU": 1
  },
  "memories": {
    "smem": 1000,
    "a/b~c": 0
  },
  "warps": [
    {
      "name": "load",
      "width": 1,
      "registers": 24,
      "variable_latency": true
    },
    {
      "name": "wg0",
      "width": 4,
      "registers": 216
    }
  ],
  "ops": [
    {
      "id": "ld",
      "kind": "tma_load",
      "cycles": 0,
      "reservation": {},
      "registers": 0,
      "memory": {
        "smem": 128,
        "a/b~c": 0
      },
      "spill": 0,
      "width": 1,
      "variable_latency": true,
      "streaming": true
    },
    {
      "id": "S",
      "kind": "mma",
      "cycles": 4,
      "reservation": {
        "TC": [
          [
            0,
            2,
            1
          ],
          [
            1,
            3,
            1
          ]
        ],
        "SFU": [
          [
            3,
            1,
            1
          ]
        ]
      },
      "registers": 64,
      "memory": {},
      "spill": 7,
      "width": 4,
      "variable_latency": false,
      "streaming": false
    },
    {
      "id": "P",
      "kind": "exp",
      "cycles": 3,
      "reservation": {
        "SFU": [
          [
            0,
            3,
            1
          ]
        ]
      },
      "registers": 32,
      "memory": {},
      "spill": 0,
      "width": 4,
      "variable_latency": false,
      "streaming": false
    },
    {
      "id": "nop",
      "kind": "",
      "cycles": 0,
      "reservation": {},
      "registers": 0,
      "memory": {},
      "spill": 0,
      "width": 1,
      "variable_latency": false,
      "streaming": false
    }
  ],
  "edges": [
    {
      "from": "ld",
      "to": "S",
      "delay": 0,
      "distance": 0,
      "blocking": true,
      "hold": 4
    },
    {
      "from": "S",
      "to": "P",
      "delay": 4,
      "distance": 0,
      "blocking": false,
      "hold": 0
    },
    {
      "from": "P",
      "to": "S",
      "delay": 3,
      "distance": 1,
      "blocking": false,
      "hold": 0
    },
    {
      "from": "P",
      "to": "nop",
      "delay": 3,
      "distance": 0,
      "blocking": false,
      "hold": 0
    }
  ]
}
)";

/// A problem of version 4: two channels, a load in flight, a streaming load and a mma with traffic.
inline const std::string kChannelText = R"({
  "format": "twill.problem",
  "version": 4,
  "name": "channels",
  "cycle_unit": 1.0,
  "units": {
    "TC": 1
  },
  "memories": {
    "smem": 1000
  },
  "channels": {
    "L2": 64,
    "a/b~c": [
      7,
      2
    ]
  },
  "warps": [
    {
      "name": "load",
      "width": 1,
      "registers": 24,
      "variable_latency": true
    },
    {
      "name": "wg0",
      "width": 4,
      "registers": 216
    }
  ],
  "ops": [
    {
      "id": "ld",
      "kind": "tma_load",
      "cycles": 0,
      "reservation": {},
      "registers": 0,
      "memory": {
        "smem": 128
      },
      "spill": 0,
      "width": 1,
      "variable_latency": true,
      "streaming": false,
      "in_flight": true,
      "traffic": {
        "L2": 128
      }
    },
    {
      "id": "st",
      "kind": "tma_load",
      "cycles": 0,
      "reservation": {},
      "registers": 0,
      "memory": {},
      "spill": 0,
      "width": 1,
      "variable_latency": true,
      "streaming": true,
      "traffic": {
        "L2": [
          1,
          3
        ],
        "a/b~c": 0
      }
    },
    {
      "id": "S",
      "kind": "mma",
      "cycles": 4,
      "reservation": {
        "TC": [
          [
            0,
            4,
            1
          ]
        ]
      },
      "registers": 64,
      "memory": {},
      "spill": 7,
      "width": 4,
      "variable_latency": false,
      "streaming": false,
      "traffic": {
        "a/b~c": [
          21,
          2
        ]
      }
    }
  ],
  "edges": [
    {
      "from": "ld",
      "to": "S",
      "delay": 500,
      "distance": 0,
      "blocking": true,
      "hold": 4
    },
    {
      "from": "st",
      "to": "S",
      "delay": 0,
      "distance": 0,
      "blocking": true,
      "hold": 4
    }
  ]
}
)";

/// A schedule of kProblemText with every key of the format but `conflict`.
inline const std::string kScheduleText = R"({
  "format": "twill.schedule",
  "version": 1,
  "problem": "sample",
  "problem_sha256": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
  "status": "feasible",
  "initiation_interval": 8,
  "length": 9,
  "lower_bound": {
    "initiation_interval": 7,
    "length": 5
  },
  "search": {
    "stages": "complete",
    "max_stages": 41
  },
  "ops": [
    {
      "id": "ld",
      "start": 0,
      "warp": "load"
    },
    {
      "id": "S",
      "start": 2,
      "warp": "wg0"
    },
    {
      "id": "P",
      "start": 6,
      "warp": "wg0"
    },
    {
      "id": "nop",
      "start": 9,
      "warp": "wg0"
    }
  ],
  "ring_depths": {
    "ld": 2
  },
  "goals": [
    {
      "name": "registers",
      "value": -3,
      "lower_bound": -4
    }
  ],
  "engine": "sat",
  "options": {
    "seed": "7",
    "encoding": ""
  },
  "solver": {
    "seconds": 0.25,
    "conflicts": 12
  }
}
)";

}  // namespace twill::test
