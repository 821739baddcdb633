"""The tables of a profile: as many columns as fit, with numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.record.profile import Work
from diffprof.render.profile_tables import fit_profile_table
from diffprof.render.table_names import ProfileTable
from tests.sample_profiles import stable_diffusion


def table(by: ProfileTable, *, width: int = 300, depth: int = 1) -> dict[str, list[str]]:
    fitted = fit_profile_table(stable_diffusion(), by, depth, width, ascii_only=True)
    return {column.name: list(column.cells) for column in fitted.columns}


def test_components_end_with_their_total() -> None:
    columns = table(ProfileTable.component)
    assert columns["component"] == ["vae", "text_encoder", "unet", "total"]
    # 31 calls of 804,257,464,320 MACs; calls of different components have no sum.
    assert (columns["calls"], columns["MACs per call"][2]) == (["1", "2", "31", ""], "804.26 G")
    assert columns["total MACs"] == ["1.26 T", "45.13 G", "24.93 T", "26.23 T"]
    assert columns["share"][2:] == [" 95.0 %  ###################", "  100 %"]


def test_in_a_narrow_terminal_the_class_stands_below_the_name() -> None:
    columns = table(ProfileTable.component, width=80)
    assert "class" not in columns
    assert columns["component"][2] == "unet\nUNet2DConditionModel"
    assert columns["share"][2] == " 95.0 %\n########"


def test_columns_that_do_not_fit_are_named() -> None:
    fitted = fit_profile_table(stable_diffusion(), ProfileTable.kind, 1, 50, ascii_only=True)
    names = [column.name for column in fitted.columns]
    assert names[:2] == ["kind of work", "MACs"]
    assert {"read", "written"} <= set(fitted.left_out)
    assert not set(names) & set(fitted.left_out)


def test_modules_are_indented_and_equal_ones_are_counted() -> None:
    modules = table(ProfileTable.module, depth=2)["module"]
    assert modules[:3] == ["vae", "  decoder", "  encoder"]
    assert "    0-2 (3 in total)" in modules
    assert table(ProfileTable.module, depth=0)["module"] == ["vae", "text_encoder", "unet"]


def test_a_module_that_never_ran_has_no_calls() -> None:
    columns = table(ProfileTable.module)
    assert dict(zip(columns["module"], columns["calls"], strict=True))["  encoder"] == "-"


def test_attention_says_what_attends_to_what() -> None:
    columns = table(ProfileTable.attention)
    assert columns["relation"] == ["self", "cross\nmasked", "self\ncausal"]
    assert columns["query x key tokens"] == ["4,096 x\n4,096", "4,096 x\n77", "77 x\n77"]
    # 93 times 2 x 5 x 4,096 x 4,096 x 64.
    assert columns["QKᵀ MACs"][0] == columns["AV MACs"][0] == "998.58 G"


def test_calls_have_their_inputs_and_steps() -> None:
    columns = table(ProfileTable.call)
    assert columns["call"][2] == "vae.decode\nz 1x4x64x64"
    assert columns["steps"] == ["-", "0-30", "-"]


@pytest.mark.parametrize("by", [ProfileTable.component, ProfileTable.call])
def test_the_pipelines_own_code_is_shown_only_with_work_or_if_verbose(by: ProfileTable) -> None:
    profile = stable_diffusion()
    own = replace(profile.components["vae"], slot="pipeline", role="pipeline", work=Work(), parameters=0, modules=())
    call = next(call for call in profile.calls if call.component == "vae")
    cost = replace(call.cost, work=Work(), operations=(), attention=(), modules=())
    calls = (*profile.calls, replace(call, component="pipeline", cost=cost))
    whole = replace(profile, components={**profile.components, "pipeline": own}, calls=calls)

    def first_cells(verbose: bool) -> str:
        return " ".join(fit_profile_table(whole, by, 1, 300, True, verbose).columns[0].cells)

    assert "pipeline" not in first_cells(verbose=False)
    assert "pipeline" in first_cells(verbose=True)
