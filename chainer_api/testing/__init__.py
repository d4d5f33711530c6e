"""Helpers for tests of functions, links, extensions and of code that uses them."""
from chainer.testing import attr as attr
from chainer.testing import condition as condition
from chainer.testing.array import assert_allclose as assert_allclose
from chainer.testing.backend import BackendConfig as BackendConfig
from chainer.testing.backend import inject_backend_tests as inject_backend_tests
from chainer.testing.distribution_test import distribution_unittest as distribution_unittest
from chainer.testing.function_link import FunctionTestCase as FunctionTestCase
from chainer.testing.function_link import FunctionTestError as FunctionTestError
from chainer.testing.function_link import InitializerArgument as InitializerArgument
from chainer.testing.function_link import LinkInitializersTestCase as LinkInitializersTestCase
from chainer.testing.function_link import LinkTestCase as LinkTestCase
from chainer.testing.function_link import LinkTestError as LinkTestError
from chainer.testing.helper import assert_warns as assert_warns
from chainer.testing.helper import patch as patch
from chainer.testing.helper import run_module as run_module
from chainer.testing.helper import with_requires as with_requires
from chainer.testing.helper import without_requires as without_requires
from chainer.testing.matrix import generate_matrix as generate_matrix
from chainer.testing.parameterized import from_pytest_parameterize as from_pytest_parameterize
from chainer.testing.parameterized import parameterize as parameterize
from chainer.testing.parameterized import parameterize_pytest as parameterize_pytest
from chainer.testing.parameterized import product as product
from chainer.testing.parameterized import product_dict as product_dict
from chainer.testing.random import fix_random as fix_random
from chainer.testing.random import generate_seed as generate_seed
from chainer.testing.serializer import save_and_load as save_and_load
from chainer.testing.serializer import save_and_load_hdf5 as save_and_load_hdf5
from chainer.testing.serializer import save_and_load_npz as save_and_load_npz
from chainer.testing.training import (
    get_trainer_with_mock_updater as get_trainer_with_mock_updater,
)
from chainer.testing.unary_math_function_test import (
    unary_math_function_unittest as unary_math_function_unittest,
)
