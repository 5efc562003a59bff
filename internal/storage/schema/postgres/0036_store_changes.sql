-- +goose Up

-- Counts the changes of what the page shows. It tells open pages to load again, so leases and other tables
-- that no view shows do not count. Spans, errors and terms change with their trace. Transactions do not wait
-- for each other, as they would for a row; they hold a lock of the sequence until their changes can be seen.
CREATE SEQUENCE store_changes;
SELECT setval('store_changes', 1); -- the first change is 2: a new sequence and one that has given 1 look the same

-- +goose StatementBegin
CREATE FUNCTION store_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nextval('store_changes');
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER memory_change AFTER INSERT OR UPDATE OR DELETE ON memory FOR EACH ROW EXECUTE FUNCTION store_change();
CREATE TRIGGER memory_versions_change AFTER INSERT OR UPDATE OR DELETE ON memory_versions FOR EACH ROW EXECUTE FUNCTION store_change();
CREATE TRIGGER sessions_change AFTER INSERT OR UPDATE OR DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION store_change();
CREATE TRIGGER session_participants_change AFTER INSERT OR UPDATE OR DELETE ON session_participants FOR EACH ROW EXECUTE FUNCTION store_change();
CREATE TRIGGER session_policies_change AFTER INSERT OR UPDATE OR DELETE ON session_policies FOR EACH ROW EXECUTE FUNCTION store_change();
CREATE TRIGGER session_notes_change AFTER INSERT OR UPDATE OR DELETE ON session_notes FOR EACH ROW EXECUTE FUNCTION store_change();
CREATE TRIGGER queues_change AFTER INSERT OR UPDATE OR DELETE ON queues FOR EACH ROW EXECUTE FUNCTION store_change();
CREATE TRIGGER tasks_change AFTER INSERT OR UPDATE OR DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION store_change();
CREATE TRIGGER task_dependencies_change AFTER INSERT OR UPDATE OR DELETE ON task_dependencies FOR EACH ROW EXECUTE FUNCTION store_change();
CREATE TRIGGER task_tags_change AFTER INSERT OR UPDATE OR DELETE ON task_tags FOR EACH ROW EXECUTE FUNCTION store_change();
CREATE TRIGGER task_progress_change AFTER INSERT OR UPDATE OR DELETE ON task_progress FOR EACH ROW EXECUTE FUNCTION store_change();
CREATE TRIGGER task_steps_change AFTER INSERT OR UPDATE OR DELETE ON task_steps FOR EACH ROW EXECUTE FUNCTION store_change();
CREATE TRIGGER task_questions_change AFTER INSERT OR UPDATE OR DELETE ON task_questions FOR EACH ROW EXECUTE FUNCTION store_change();
CREATE TRIGGER traces_change AFTER INSERT OR UPDATE OR DELETE ON traces FOR EACH ROW EXECUTE FUNCTION store_change();
