"""Kernels for BridgeStan's R client: R's `.C` interface passes every argument by address.

Source: `bridgestanR.h` of BridgeStan 2.
"""

from __future__ import annotations

from aotensor.codegen.abi.bridgestan_calls import (
    bs_log_density,
    bs_log_density_gradient,
    bs_log_density_hessian,
    bs_log_density_hessian_vector_product,
    bs_param_constrain,
    bs_param_unconstrain,
    bs_param_unconstrain_json,
    bs_rng_construct,
    bs_rng_destruct,
)
from aotensor.codegen.abi.bridgestan_model import (
    bs_free_error_msg,
    bs_model_construct,
    bs_model_destruct,
    bs_model_info,
    bs_name,
    bs_param_names,
    bs_param_num,
    bs_param_unc_names,
    bs_param_unc_num,
)
from aotensor.codegen.abi.bridgestan_start import bs_param_initialize
from aotensor.codegen.abi.bridgestan_table import MAJOR, MINOR, PATCH
from aotensor.codegen.abi.language import Address, int32, real, set_int32, set_word, word


def bs_version_R(major: Address, minor: Address, patch: Address) -> None:
    """Store the version of the interface."""
    set_int32(major, 0, MAJOR)
    set_int32(minor, 0, MINOR)
    set_int32(patch, 0, PATCH)


def bs_model_construct_R(
    data: Address, seed: Address, result: Address, message: Address, message_address: Address
) -> None:
    """`bs_model_construct` for R's `.C` interface: all arguments are addresses."""
    set_word(result, 0, bs_model_construct(word(data, 0), int32(seed, 0), message))
    set_word(message_address, 0, word(message, 0))


def bs_free_error_msg_R(message: Address) -> None:
    """`bs_free_error_msg` for R's `.C` interface: all arguments are addresses."""
    bs_free_error_msg(word(message, 0))


def bs_model_destruct_R(model: Address) -> None:
    """`bs_model_destruct` for R's `.C` interface: all arguments are addresses."""
    bs_model_destruct(word(model, 0))


def bs_name_R(model: Address, result: Address) -> None:
    """`bs_name` for R's `.C` interface: all arguments are addresses."""
    set_word(result, 0, bs_name(word(model, 0)))


def bs_model_info_R(model: Address, result: Address) -> None:
    """`bs_model_info` for R's `.C` interface: all arguments are addresses."""
    set_word(result, 0, bs_model_info(word(model, 0)))


def bs_param_names_R(model: Address, include_tp: Address, include_gq: Address, result: Address) -> None:
    """`bs_param_names` for R's `.C` interface: all arguments are addresses."""
    set_word(result, 0, bs_param_names(word(model, 0), int32(include_tp, 0) != 0, int32(include_gq, 0) != 0))


def bs_param_unc_names_R(model: Address, result: Address) -> None:
    """`bs_param_unc_names` for R's `.C` interface: all arguments are addresses."""
    set_word(result, 0, bs_param_unc_names(word(model, 0)))


def bs_param_num_R(model: Address, include_tp: Address, include_gq: Address, result: Address) -> None:
    """`bs_param_num` for R's `.C` interface: all arguments are addresses."""
    set_int32(result, 0, bs_param_num(word(model, 0), int32(include_tp, 0) != 0, int32(include_gq, 0) != 0))


def bs_param_unc_num_R(model: Address, result: Address) -> None:
    """`bs_param_unc_num` for R's `.C` interface: all arguments are addresses."""
    set_int32(result, 0, bs_param_unc_num(word(model, 0)))


def bs_param_constrain_R(
    model: Address,
    include_tp: Address,
    include_gq: Address,
    theta_unc: Address,
    theta: Address,
    rng: Address,
    result: Address,
    message: Address,
    message_address: Address,
) -> None:
    """`bs_param_constrain` for R's `.C` interface: all arguments are addresses."""
    set_int32(
        result,
        0,
        bs_param_constrain(
            word(model, 0),
            int32(include_tp, 0) != 0,
            int32(include_gq, 0) != 0,
            theta_unc,
            theta,
            word(rng, 0),
            message,
        ),
    )
    set_word(message_address, 0, word(message, 0))


def bs_param_unconstrain_R(
    model: Address, theta: Address, theta_unc: Address, result: Address, message: Address, message_address: Address
) -> None:
    """`bs_param_unconstrain` for R's `.C` interface: all arguments are addresses."""
    set_int32(result, 0, bs_param_unconstrain(word(model, 0), theta, theta_unc, message))
    set_word(message_address, 0, word(message, 0))


def bs_param_unconstrain_json_R(
    model: Address, json: Address, theta_unc: Address, result: Address, message: Address, message_address: Address
) -> None:
    """`bs_param_unconstrain_json` for R's `.C` interface: all arguments are addresses."""
    set_int32(result, 0, bs_param_unconstrain_json(word(model, 0), word(json, 0), theta_unc, message))
    set_word(message_address, 0, word(message, 0))


def bs_param_initialize_R(
    model: Address,
    json: Address,
    rng: Address,
    init_radius: Address,
    max_tries: Address,
    jacobian: Address,
    theta_unc: Address,
    result: Address,
    message: Address,
    message_address: Address,
) -> None:
    """`bs_param_initialize` for R's `.C` interface: all arguments are addresses."""
    set_int32(
        result,
        0,
        bs_param_initialize(
            word(model, 0),
            word(json, 0),
            word(rng, 0),
            real(init_radius, 0),
            int32(max_tries, 0),
            int32(jacobian, 0) != 0,
            theta_unc,
            message,
        ),
    )
    set_word(message_address, 0, word(message, 0))


def bs_log_density_R(
    model: Address,
    propto: Address,
    jacobian: Address,
    theta_unc: Address,
    val: Address,
    result: Address,
    message: Address,
    message_address: Address,
) -> None:
    """`bs_log_density` for R's `.C` interface: all arguments are addresses."""
    set_int32(
        result,
        0,
        bs_log_density(word(model, 0), int32(propto, 0) != 0, int32(jacobian, 0) != 0, theta_unc, val, message),
    )
    set_word(message_address, 0, word(message, 0))


def bs_log_density_gradient_R(
    model: Address,
    propto: Address,
    jacobian: Address,
    theta_unc: Address,
    val: Address,
    grad: Address,
    result: Address,
    message: Address,
    message_address: Address,
) -> None:
    """`bs_log_density_gradient` for R's `.C` interface: all arguments are addresses."""
    set_int32(
        result,
        0,
        bs_log_density_gradient(
            word(model, 0), int32(propto, 0) != 0, int32(jacobian, 0) != 0, theta_unc, val, grad, message
        ),
    )
    set_word(message_address, 0, word(message, 0))


def bs_log_density_hessian_R(
    model: Address,
    propto: Address,
    jacobian: Address,
    theta_unc: Address,
    val: Address,
    grad: Address,
    hess: Address,
    result: Address,
    message: Address,
    message_address: Address,
) -> None:
    """`bs_log_density_hessian` for R's `.C` interface: all arguments are addresses."""
    set_int32(
        result,
        0,
        bs_log_density_hessian(
            word(model, 0), int32(propto, 0) != 0, int32(jacobian, 0) != 0, theta_unc, val, grad, hess, message
        ),
    )
    set_word(message_address, 0, word(message, 0))


def bs_log_density_hessian_vector_product_R(
    model: Address,
    propto: Address,
    jacobian: Address,
    theta_unc: Address,
    vector: Address,
    val: Address,
    hvp: Address,
    result: Address,
    message: Address,
    message_address: Address,
) -> None:
    """`bs_log_density_hessian_vector_product` for R's `.C` interface: all arguments are addresses."""
    set_int32(
        result,
        0,
        bs_log_density_hessian_vector_product(
            word(model, 0), int32(propto, 0) != 0, int32(jacobian, 0) != 0, theta_unc, vector, val, hvp, message
        ),
    )
    set_word(message_address, 0, word(message, 0))


def bs_rng_construct_R(seed: Address, result: Address, message: Address, message_address: Address) -> None:
    """`bs_rng_construct` for R's `.C` interface: all arguments are addresses."""
    set_word(result, 0, bs_rng_construct(int32(seed, 0), message))
    set_word(message_address, 0, word(message, 0))


def bs_rng_destruct_R(rng: Address) -> None:
    """`bs_rng_destruct` for R's `.C` interface: all arguments are addresses."""
    bs_rng_destruct(word(rng, 0))
