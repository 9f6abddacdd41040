"""A stand-in for PyTorch, as far as launch() of an emitted file uses it: that function runs with arrays of numpy.

A tensor of no elements has no descriptor, as the driver has it: cuTensorMapEncodeTiled refuses a dimension of 0."""
import sys
import types

import numpy as np
import stand_in


class Tensor:
    is_cuda, device = True, None

    def __init__(self, array, kind):
        self.array, self.dtype, self.shape = array, kind, array.shape

    def is_contiguous(self):
        return True

    def dim(self):
        return len(self.shape)

    def numel(self):
        return self.array.size

    def view(self, *shape):
        return Tensor(self.array.reshape(shape), self.dtype)


def filled(value):
    def make(*shape, dtype, device):
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
        return Tensor(np.full(shape, value, stand_in.Type(dtype).numpy), dtype)
    return make


def torch():
    made = types.ModuleType("torch")
    made.zeros, made.empty = filled(0.0), filled(np.nan)
    for kind in stand_in.SHORT:
        setattr(made, stand_in.Type(kind).name, kind)
    made.cuda = types.SimpleNamespace(get_device_properties=lambda device: types.SimpleNamespace(multi_processor_count=3))
    made.float8_e4m3fn, made.float8_e5m2 = "float8_e4m3fn", "float8_e5m2"
    return made


class TensorDescriptor:
    @staticmethod
    def from_tensor(tensor, block, layout):
        assert len(tensor.shape) == 2 and min(tensor.shape) > 0, f"a descriptor of {tensor.shape}"
        return stand_in.Descriptor(stand_in.Type(tensor.dtype), tensor.array, block, "?")


class Kernel:
    """kernel[grid](arguments): executed at once."""

    def __init__(self, function):
        self.function = function

    def __getitem__(self, grid):
        def launch(*arguments, num_warps):
            given = [stand_in.Pointer(stand_in.Type(x.dtype), x.array.reshape(-1)) if isinstance(x, Tensor) else x for x in arguments]
            stand_in.run_grid(self.function, given, grid, 0, "random")
        return launch


def launched(module, inputs, batch):
    """What the file's launch() returns for these inputs, [batch * rows, columns] each: tensor -> array."""
    given = {}
    for name, (_, kind, is_output) in module.TENSORS.items():
        if not is_output:
            array = inputs[name]
            shape = (batch, array.shape[0] // batch, *array.shape[1:]) if batch > 1 else array.shape
            given[name] = Tensor(array.reshape(shape), kind)
    function, descriptors = module.kernel, module.TensorDescriptor
    saved = sys.modules.get("torch")
    sys.modules["torch"] = torch()
    module.kernel, module.TensorDescriptor = Kernel(function), TensorDescriptor
    try:
        outputs = module.launch(given)
    finally:
        module.kernel, module.TensorDescriptor = function, descriptors
        if saved is None:
            del sys.modules["torch"]
        else:
            sys.modules["torch"] = saved
    return {name: x.array.reshape(-1, *x.array.shape[2:]) if batch > 1 else x.array for name, x in zip(module.OUTPUTS, outputs)}
