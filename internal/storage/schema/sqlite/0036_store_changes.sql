-- +goose Up

-- The number of changes of what the page shows. It tells open pages to load again, so leases and other
-- tables that no view shows do not count. Spans, errors and terms change with their trace.
CREATE TABLE store_changes (n INTEGER NOT NULL);
INSERT INTO store_changes VALUES (0);

-- +goose StatementBegin
CREATE TRIGGER memory_change_insert AFTER INSERT ON memory BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER memory_change_update AFTER UPDATE ON memory BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER memory_change_delete AFTER DELETE ON memory BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER memory_versions_change_insert AFTER INSERT ON memory_versions BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER memory_versions_change_update AFTER UPDATE ON memory_versions BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER memory_versions_change_delete AFTER DELETE ON memory_versions BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER sessions_change_insert AFTER INSERT ON sessions BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER sessions_change_update AFTER UPDATE ON sessions BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER sessions_change_delete AFTER DELETE ON sessions BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER session_participants_change_insert AFTER INSERT ON session_participants BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER session_participants_change_update AFTER UPDATE ON session_participants BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER session_participants_change_delete AFTER DELETE ON session_participants BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER session_policies_change_insert AFTER INSERT ON session_policies BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER session_policies_change_update AFTER UPDATE ON session_policies BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER session_policies_change_delete AFTER DELETE ON session_policies BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER session_notes_change_insert AFTER INSERT ON session_notes BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER session_notes_change_update AFTER UPDATE ON session_notes BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER session_notes_change_delete AFTER DELETE ON session_notes BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER queues_change_insert AFTER INSERT ON queues BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER queues_change_update AFTER UPDATE ON queues BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER queues_change_delete AFTER DELETE ON queues BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER tasks_change_insert AFTER INSERT ON tasks BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_change_update AFTER UPDATE ON tasks BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_change_delete AFTER DELETE ON tasks BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER task_dependencies_change_insert AFTER INSERT ON task_dependencies BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER task_dependencies_change_update AFTER UPDATE ON task_dependencies BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER task_dependencies_change_delete AFTER DELETE ON task_dependencies BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER task_tags_change_insert AFTER INSERT ON task_tags BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER task_tags_change_update AFTER UPDATE ON task_tags BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER task_tags_change_delete AFTER DELETE ON task_tags BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER task_progress_change_insert AFTER INSERT ON task_progress BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER task_progress_change_update AFTER UPDATE ON task_progress BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER task_progress_change_delete AFTER DELETE ON task_progress BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER task_steps_change_insert AFTER INSERT ON task_steps BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER task_steps_change_update AFTER UPDATE ON task_steps BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER task_steps_change_delete AFTER DELETE ON task_steps BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER task_questions_change_insert AFTER INSERT ON task_questions BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER task_questions_change_update AFTER UPDATE ON task_questions BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER task_questions_change_delete AFTER DELETE ON task_questions BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER traces_change_insert AFTER INSERT ON traces BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER traces_change_update AFTER UPDATE ON traces BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER traces_change_delete AFTER DELETE ON traces BEGIN
    UPDATE store_changes SET n = n + 1;
END;
-- +goose StatementEnd
